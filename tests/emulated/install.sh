#!/usr/bin/env bash
# Puts Python and numpy for aarch64 into a folder, for the tests that run compiled models by qemu:
#
#     tests/emulated/install.sh [FOLDER]          # $NCC_AARCH64, or else ~/.cache/ncc-aarch64
#
# Packages come from the same Debian or Ubuntu as this system's, without a change of its list of
# architectures: apt has its state in the folder. qemu is installed where root may do that.
set -euo pipefail

folder=${1:-${NCC_AARCH64:-$HOME/.cache/ncc-aarch64}}
mkdir -p "$folder"/{apt/state/lists/partial,apt/cache/archives/partial,packages,root,site}
folder=$(cd "$folder" && pwd)

if ! command -v qemu-aarch64 >/dev/null; then
    apt-get update
    apt-get install --yes --no-install-recommends qemu-user
fi

touch "$folder/apt/state/status"
options=(
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=
    -o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/state/status"
    -o Dir::Cache="$folder/apt/cache"
)
apt-get "${options[@]}" update
version=$(apt-cache "${options[@]}" depends python3-minimal | sed -n 's/.*Depends: python\(3\.[0-9]*\)-minimal/\1/p')
cd "$folder/packages"
apt-get "${options[@]}" download "python$version-minimal" "libpython$version-minimal" \
    "libpython$version-stdlib" libc6 libgcc-s1 libstdc++6 libffi8 zlib1g libexpat1 libbz2-1.0 liblzma5
for package in ./*.deb; do
    dpkg -x "$package" "$folder/root"
done

cd "$folder"
python3 -m pip download --quiet --no-deps --only-binary=:all: --dest packages \
    --python-version "$version" --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux2014_aarch64 numpy
for wheel in packages/numpy-*.whl; do
    python3 -m zipfile -e "$wheel" site
done
ln -sf "python$version" root/usr/bin/python3
echo "$folder has Python $version for aarch64"
