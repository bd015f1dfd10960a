// Package conversation defines conversations with the assistant, tools, actions and approvals.
package conversation
