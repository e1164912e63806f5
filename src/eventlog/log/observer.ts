/** What the log client tells whoever keeps metrics; every member is optional and must not throw. */
export interface EventLogObserver {
  readonly appended?: (append: AppendObservation) => void
  readonly read?: (read: {
    readonly outcome: 'ok' | 'failed'
    readonly events: number
    readonly durationMs: number
  }) => void
  readonly subscription?: (change: {
    readonly kind: 'opened' | 'caught_up' | 'dropped' | 'stalled'
    readonly reason?: string
  }) => void
  readonly healthChanged?: (healthy: boolean) => void
}

export interface AppendObservation {
  readonly outcome:
    | 'ok'
    | 'unavailable'
    | 'unknown'
    | 'wrong_expected_revision'
    | 'too_large'
    | 'invalid'
  readonly events: number
  readonly sizeBytes: number
  readonly tries: number
  readonly durationMs: number
}
