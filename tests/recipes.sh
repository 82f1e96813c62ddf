#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# recipes.sh - the recipes for Spack, conda and RPM are well-formed, and name only options that ./configure has.
# tests/version.sh compares their versions.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

packaging=$MAM_SRCDIR/packaging
spack=$packaging/spack/package.py
conda=$packaging/conda/recipe.yaml
spec=$packaging/rpm/mam.spec

"$MAM_SRCDIR/configure" --help > "$scratch/help"
unknown_options() # FILE... - those that ./configure would ignore
{
	grep -Eho -e '--(with|without|enable|disable)-[a-z-]+' "$@" | sed 's/--[a-z]*-//' | sort -u | while read -r option; do
		grep -Eq -e "--(with|without|enable|disable)-$option( |=|\\[|\$)" "$scratch/help" || echo "$option"
	done
}
same "recipes name options of ./configure" "" \
	"$(unknown_options "$spack" "$conda" "$spec" "$packaging/debian/rules" "$MAM_SRCDIR/python/backend.py" | tr '\n' ' ')"
echo ./configure --without-libclang --without-planted > "$scratch/planted"
same "an unknown option is found" planted "$(unknown_options "$scratch/planted")"

python=${PYTHON:-python3}
cat > "$scratch/spack.py" << 'END'
import ast
import sys

with open(sys.argv[1]) as file:
    tree = ast.parse(file.read())
[package] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
assert (package.name, [base.id for base in package.bases]) == ("Mam", ["AutotoolsPackage"]), "it is not class Mam"
assert [node.name for node in package.body if isinstance(node, ast.FunctionDef)] == ["configure_args"], "other methods"
known = {"license", "version", "variant", "depends_on"}
calls = [node.value for node in package.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
called = {call.func.id for call in calls}
assert called == known, f"directives {sorted(called ^ known)}"
variants = {call.args[0].value for call in calls if call.func.id == "variant"}
conditions = {word.value.value for call in calls for word in call.keywords if word.arg == "when"}
assert {condition.lstrip("+~") for condition in conditions} <= variants, "a condition names no variant"
END
if command -v "$python" > /dev/null; then
	try "Spack recipe compiles" env PYTHONPYCACHEPREFIX="$scratch" "$python" -m py_compile "$spack"
	try "Spack recipe has the parts that Spack needs" "$python" "$scratch/spack.py" "$spack"
	sed 's/when="+cuda"/when="+planted"/' "$spack" > "$scratch/package.py"
	if "$python" "$scratch/spack.py" "$scratch/package.py" 2> /dev/null; then
		not_ok "condition without a variant is found" "it was accepted"
	else
		ok "condition without a variant is found"
	fi
else
	skip "Spack recipe" "Python 3 is not installed"
fi

cat > "$scratch/conda.py" << 'END'
import sys

import yaml

with open(sys.argv[1]) as file:
    recipe = yaml.safe_load(file)
print(*recipe)
END
if "$python" -c 'import yaml' 2> /dev/null; then
	same "conda recipe has the parts that rattler-build needs" \
		"schema_version context package source build requirements tests about" "$("$python" "$scratch/conda.py" "$conda" 2>&1)"
	echo '  - [' | cat "$conda" - > "$scratch/recipe.yaml"
	if "$python" "$scratch/conda.py" "$scratch/recipe.yaml" > /dev/null 2>&1; then
		not_ok "invalid YAML is found" "it was accepted"
	else
		ok "invalid YAML is found"
	fi
else
	skip "conda recipe" "Python has no yaml (package python3-yaml)"
fi

if command -v rpmspec > /dev/null; then
	same "RPM recipe has the packages" "mam mam-devel mam-libs python3-mam" \
		"$(rpmspec -q --qf '%{name}\n' "$spec" 2>&1 | grep -v debug | LC_ALL=C sort | paste -s -d ' ')"
else
	skip "RPM recipe has the packages" "rpmspec is not installed (package rpm)"
fi
if command -v rpmlint > /dev/null; then
	rpmlint "$spec" > "$scratch/rpmlint" 2>&1
	try "rpmlint reads the RPM recipe" grep -q ' 1 specfile' "$scratch/rpmlint"
	# %mklibname is a macro of Mageia only.
	same "rpmlint finds no errors" "" "$(grep ' E: ' "$scratch/rpmlint" | grep -v mklibname | tr '\n' ' ')"
else
	skip "rpmlint finds no errors" "rpmlint is not installed"
fi
finish
