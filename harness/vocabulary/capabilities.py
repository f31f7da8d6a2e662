"""What a subject may declare of itself. A promise that needs an undeclared capability is not applicable, never kept."""

CAPABILITIES: dict[str, str] = {
    "budget-synthesis": "answers from what it has when a budget or its reserve is spent",
    "repeated-call-synthesis": "gives the model an answer turn before it stops an identical-call loop",
    "evidence-reset": "restarts an identical-call counter when the observation changed",
    "elision": "replaces old large results by pointers when the context budget is passed",
    "excerpt": "shortens single results and batches over their byte limits",
    "approval": "suspends for calls that need approval, and resumes",
    "cancellation": "can be cancelled",
    "deadline": "keeps an absolute deadline",
    "cost-budget": "computes cost from usage and prices, and keeps a cost limit",
    "retries": "retries transient model failures and empty turns",
    "checkpoints": "shows its checkpoints and can resume from them",
    "events": "shows its run events",
    "waits": "shows how long it waits between attempts",
    "usage": "its outcome carries usage and counters",
    "built-requests": "shows its neutral requests before they are rendered",
}
