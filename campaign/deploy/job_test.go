package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/sim"
)

// Pods as the Indexed Job has them, and then the one that merges, report what one machine does. An index that is tried
// twice counts once.
func TestTheIndexedJobReportsWhatOneMachineDoes(t *testing.T) {
	m := newMachine(t, "job")
	parts, merge := m.objects["Job zktorture-parts"].Spec, m.objects["Job zktorture-merge"].Spec
	indices := []int{parts.Completions - 1, 0}
	for i := range parts.Completions {
		indices = append(indices, i)
	}
	for _, i := range indices {
		if out, err := m.run(parts.Template.Spec, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)); err != nil {
			t.Fatalf("index %d: %v\n%s", i, err, out)
		}
	}
	if out, err := m.run(merge.Template.Spec); err != nil {
		t.Fatalf("merge: %v\n%s", err, out)
	}
	compare(t, filepath.Join(m.volume("zktorture-results"), "report", "report.json"))
}

// compare compares a report with what one machine finds.
func compare(t *testing.T, name string) {
	t.Helper()
	var report campaign.Report
	read(t, name, &report)
	want, err := onOneMachine()
	if err != nil {
		t.Fatal(err)
	}
	units := examplePlan(t).Units()
	if len(want) < 3 || len(report.Jobs) != len(want) || report.Units != units || len(report.Unknown) > 0 {
		t.Fatalf("of %d jobs %d were reported, of %d units %d; unknown: %v", len(want), len(report.Jobs), units, report.Units,
			report.Unknown)
	}
	for i := range want {
		if diff := cmp.Diff(indented(t, report.Jobs[i]), indented(t, want[i])); diff != "" {
			t.Errorf("of job %d pods report something else (-) than one machine (+):\n%s", i, diff)
		}
	}
}

// example is the plan of the manifests.
const example = "plan/plan.json"

func examplePlan(t *testing.T) *campaign.Plan {
	t.Helper()
	plan, err := campaign.ReadPlan(t.Context(), example)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// onOneMachine runs all jobs of the example as torture run does.
var onOneMachine = sync.OnceValues(func() (reports []campaign.JobReport, err error) {
	plan, err := campaign.ReadPlan(context.Background(), example)
	if err != nil {
		return nil, err
	}
	list, err := plan.List()
	for i := range list {
		w, config, wrong := plan.Config(i)
		err = errors.Join(err, wrong)
		result, wrong := sim.Run(context.Background(), w, config)
		err = errors.Join(err, wrong)
		report, wrong := plan.ReportOf(context.Background(), i, result)
		err = errors.Join(err, wrong)
		reports = append(reports, report)
	}
	return reports, err
})

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The numbers of the manifests are those of the plan.
func TestManifestsFitThePlan(t *testing.T) {
	plan := examplePlan(t)
	parts := objects(t, "job")["Job zktorture-parts"].Spec
	for _, same := range []struct {
		what     string
		is, want int
	}{
		{"completions", parts.Completions, plan.Units()},
		{"backoffLimitPerIndex", parts.BackoffLimitPerIndex, plan.UnitTries() - 1},
		{"activeDeadlineSeconds", parts.Template.Spec.ActiveDeadlineSeconds, int(plan.UnitLimit().Seconds())},
	} {
		if same.is != same.want {
			t.Errorf("%s is %d, and the plan wants %d", same.what, same.is, same.want)
		}
	}
	if parts.CompletionMode != "Indexed" {
		t.Errorf("the pods of a Job that is %q have no numbers", parts.CompletionMode)
	}
}

// What runs has no rights that it does not need, and writes nowhere but into its volumes. Its image is the one that is
// built.
func TestPodsHaveFewRights(t *testing.T) {
	for _, dir := range manifests {
		pods := 0
		for name, object := range objects(t, dir) {
			p := object.Spec.Template.Spec
			if len(p.Containers) == 0 {
				continue
			}
			pods++
			for _, complaint := range p.complaints() {
				t.Errorf("%s: %s", name, complaint)
			}
		}
		if pods < 2 {
			t.Errorf("%s has %d kinds of pods", dir, pods)
		}
	}
}

func (p pod) complaints() (list []string) {
	c := p.Containers[0]
	off := func(b *bool) bool { return b != nil && !*b }
	for _, rule := range []struct {
		kept bool
		rule string
	}{
		{len(p.Containers) == 1, "there is one container"},
		{p.SecurityContext.RunAsNonRoot && p.SecurityContext.RunAsUser == user, "it runs as the image's user"},
		{p.SecurityContext.SeccompProfile.Type == "RuntimeDefault", "system calls are filtered"},
		{off(p.AutomountServiceAccountToken), "it has no token for the API"},
		{off(c.SecurityContext.AllowPrivilegeEscalation), "it gets no more rights"},
		{c.SecurityContext.ReadOnlyRootFilesystem, "its root is read-only"},
		{fmt.Sprint(c.SecurityContext.Capabilities.Drop) == "[ALL]", "it has no capabilities"},
		{c.Image == imageName, "its image is the one that kustomization.yaml names"},
		{c.Resources.Requests["cpu"] != "" && c.Resources.Limits["memory"] != "", "its resources are bounded"},
	} {
		if !rule.kept {
			list = append(list, "it is not so that "+rule.rule)
		}
	}
	return list
}

const (
	user      = 65532 // as in the Containerfile
	imageName = "registry.example.com/zktorture:dev"
)
