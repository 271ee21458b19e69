package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/runner"
)

// record returns the recorded plan of a folder, and the programs that run its units. If the folder has none it records
// what was written.
func (s *startCmd) record(
	ctx context.Context, errs io.Writer, f coordinator.Folder,
) (*campaign.Plan, []runner.Program, error) {
	written, err := campaign.ReadPlan(ctx, s.Plan)
	if err != nil {
		return nil, nil, err
	}
	recorded, err := f.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return s.begin(ctx, errs, f, written)
	}
	if err != nil {
		return nil, nil, err
	}
	if !sameAsWritten(recorded, written) {
		return nil, nil, fmt.Errorf("the folder %s has a campaign of another plan, %q: take another folder (--dir), "+
			"or go on with that plan: torture-campaign start %s --dir %s", f, recorded.Name, f.PlanFile(), f)
	}
	programs, err := runner.Programs(ctx, recorded, filepath.Dir(s.Plan), f.Programs())
	if err != nil {
		return nil, nil, err
	}
	for _, p := range programs {
		if err := runner.Check(recorded, p); err != nil {
			return nil, nil, err
		}
	}
	return recorded, programs, nil
}

// begin records a plan.
func (s *startCmd) begin(
	ctx context.Context, errs io.Writer, f coordinator.Folder, written *campaign.Plan,
) (*campaign.Plan, []runner.Program, error) {
	known, err := s.known(errs)
	if err != nil {
		return nil, nil, err
	}
	programs, err := runner.Programs(ctx, written, filepath.Dir(s.Plan), f.Programs())
	if err != nil {
		return nil, nil, err
	}
	plan, err := runner.Record(ctx, written, programs, known)
	if err != nil {
		return nil, nil, err
	}
	return plan, programs, f.SetPlan(plan)
}

// known are the counterexamples that are to be run again first. What is left out of them is told.
func (s *startCmd) known(errs io.Writer) ([]campaign.Known, error) {
	if s.Failures == "" {
		return nil, nil
	}
	store, err := failures.Open(s.Failures)
	if err != nil {
		return nil, err
	}
	suite, err := store.Known(0)
	if err != nil {
		return nil, err
	}
	for _, problem := range suite.Problems {
		fmt.Fprintln(errs, problem)
	}
	for _, left := range suite.Left {
		fmt.Fprintln(errs, "Not run again:", left)
	}
	return suite.Known, nil
}

// sameAsWritten reports whether people have written the same for two plans.
func sameAsWritten(a, b *campaign.Plan) bool { return asWritten(a) == asWritten(b) }

func asWritten(p *campaign.Plan) string {
	text, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err.Error()
	}
	for _, noted := range []string{"programs", "known", "resolved"} {
		delete(fields, noted)
	}
	text, _ = json.Marshal(fields) // it was JSON
	return string(text)
}
