import type { Counter } from 'prom-client'

/**
 * Begins a counter at 0 for every combination of these label values. Prometheus sees no increase in a series that
 * begins with its first count, so an alarm on that count would not fire.
 */
export function beginAtZero<Label extends string>(
  counter: Counter<Label>,
  values: Readonly<Record<Label, readonly string[]>>,
): void {
  let combinations: readonly Partial<Record<Label, string>>[] = [{}]
  for (const label of Object.keys(values) as Label[])
    combinations = combinations.flatMap((labels) =>
      values[label].map((value) => ({ ...labels, [label]: value })),
    )
  for (const labels of combinations) counter.inc(labels, 0)
}
