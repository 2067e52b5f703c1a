//go:build tools

// Package engine pins the Pulumi command line that `make setup` builds.
package engine

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
