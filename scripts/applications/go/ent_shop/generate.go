//go:build generate

// Writes the client that `main.go` uses into the folder `ent`, which is made where the program is built and is not kept.
package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	features := []gen.Feature{gen.FeatureUpsert, gen.FeatureLock, gen.FeatureModifier, gen.FeatureExecQuery}
	if err := entc.Generate("./schema", &gen.Config{Target: "ent", Package: "shoal-applications/ent_shop/ent", Features: features}); err != nil {
		log.Fatal(err)
	}
}
