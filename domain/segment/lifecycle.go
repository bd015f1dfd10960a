package segment

// LifecycleStage is the stage that a person has reached.
type LifecycleStage string

// The stages, in the order in which people reach them; churned people have left.
const (
	StageVisitor   LifecycleStage = "visitor"
	StageLead      LifecycleStage = "lead"
	StageSignup    LifecycleStage = "signup"
	StageActivated LifecycleStage = "activated"
	StagePaying    LifecycleStage = "paying"
	StageChurned   LifecycleStage = "churned"
)

// LifecycleStages lists the stages in their order.
func LifecycleStages() []LifecycleStage {
	return []LifecycleStage{StageVisitor, StageLead, StageSignup, StageActivated, StagePaying, StageChurned}
}

// Values lists the stages.
func (LifecycleStage) Values() []LifecycleStage { return LifecycleStages() }
