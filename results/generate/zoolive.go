package main

import (
	"context"
	"fmt"
)

// zooLiveDuration is how long each animal runs on real servers, and zooLiveMin how many must be seen.
const (
	zooLiveDuration = "6s"
	zooLiveMin      = 10
)

func measureZooLive(ctx context.Context) (data any, problem error) {
	var zoo zooResult
	if err := torture(ctx, &zoo, "zoo", "--backend", "ensemble", "--duration", zooLiveDuration,
		"--seed", "1"); err != nil {
		return nil, err
	}
	accused := 0
	for _, a := range zoo.Animals {
		accused += count(!a.Clean)
	}
	if zoo.Found < zooLiveMin || accused > 0 {
		problem = fmt.Errorf("%w: %d animals were seen, %d twins were accused", errUnexpected, zoo.Found, accused)
	}
	return facts{"Duration": zooLiveDuration, "Min": zooLiveMin, "Zoo": zoo, "Accused": accused}, problem
}
