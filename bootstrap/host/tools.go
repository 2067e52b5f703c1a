//go:build tools

// Package host pins the Python language host that `make setup` builds.
package host

import _ "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
