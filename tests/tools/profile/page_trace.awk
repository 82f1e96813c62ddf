# SPDX-License-Identifier: Apache-2.0
#
# page_trace.awk - write a profile: six steps of a small training run. Weights stay, activations
# live from the forward pass to the backward pass, gradients to the optimizer, whose state appears in
# its first step (with a tag), and a cache grows by one block per step.
# Usage: awk -f page_trace.awk /dev/null

function python(parent, line, file, name)
{
	print "#frame", ++frames, parent, "python", line, file, name
	return frames
}

function native(parent, module, offset)
{
	print "#frame", ++frames, parent, "native", module, offset
	return frames
}

function allocate(bytes, stack, tag)
{
	time += 20000
	print "a", ++id, bytes, "0 t=" time, "stack=" stack (tag ? " tag=" tag : "")
	return id
}

function release(block)
{
	time += 10000
	print "f", block, "t=" time
}

BEGIN {
	MIB = 1048576
	layers = 6
	print "#module 1 /usr/lib/libtorch_cuda.so -"
	print "#module 2 /usr/lib/libc10_cuda.so -"
	main = python(python(0, 210, "/home/u/train.py", "<module>"), 188, "/home/u/train.py", "main")
	load = python(main, 97, "/home/u/train.py", "load_weights")
	step = python(main, 120, "/home/u/train.py", "train_step")
	forward = python(step, 61, "/home/u/model.py", "GPT.forward")
	backward = python(step, 522, "/usr/lib/python3/torch/_tensor.py", "Tensor.backward")
	adam = python(step, 234, "/usr/lib/python3/torch/optim/adam.py", "Adam.step")
	cache = python(step, 131, "/home/u/train.py", "remember_loss")
	for (i = 1; i <= 3; i++) {
		line = i == 1 ? 22 : i == 2 ? 35 : 48
		name = i == 1 ? "Attention.forward" : i == 2 ? "MLP.forward" : "LayerNorm.forward"
		block = python(forward, 15 + i, "/home/u/model.py", "Block.forward")
		part[i] = native(native(python(block, line, "/home/u/model.py", name), 1, "0x12a0"), 2, "0x5510")
	}
	weights = native(native(load, 1, "0x88f0"), 2, "0x5510")
	gradient = native(native(backward, 1, "0x41c0"), 2, "0x5510")
	state = native(native(adam, 1, "0x7700"), 2, "0x5510")

	for (l = 1; l <= layers; l++)
		allocate(24 * MIB, weights)
	for (s = 1; s <= 6; s++) {
		for (l = 1; l <= layers; l++)
			for (i = 1; i <= 3; i++)
				kept[l, i] = allocate((i == 2 ? 40 : i == 1 ? 28 : 6) * MIB, part[i])
		for (l = layers; l >= 1; l--) {
			grads[l] = allocate(24 * MIB, gradient)
			for (i = 1; i <= 3; i++)
				release(kept[l, i])
		}
		for (l = 1; l <= layers; l++) {
			if (s == 1)
				allocate(48 * MIB, state, "optimizer")
			release(grads[l])
		}
		allocate(9 * MIB, cache)
	}
}
