// Package deploy has what runs campaigns in containers: a Containerfile, manifests for Kubernetes and an example of a
// plan. There is no code in it but tests, which is why it is a module of its own: what they need nobody else gets.
package deploy
