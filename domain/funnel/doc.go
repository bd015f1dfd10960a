// Package funnel defines funnels and how they are counted.
package funnel
