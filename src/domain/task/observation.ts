import type { Usage } from '../pricing/usage.ts'

/** The observed result of a task. */
export interface TaskSeen {
  readonly usage?: Usage | undefined
  /** Echoed settings and actual specs by wire name; never a URL (P7). */
  readonly output: Readonly<Record<string, string | number | boolean | null>>
}

export const observedStatuses = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'expired',
  'cancelled',
  'unknown',
] as const

/**
 * What an upstream reports about a task. A status that the gateway does not know is `unknown`,
 * never a failure (P5).
 */
export interface TaskObservation extends TaskSeen {
  readonly nativeId: string
  readonly status: (typeof observedStatuses)[number]
  /** Upstream's own word. */
  readonly upstreamStatus: string
  readonly upstreamModel?: string
  /** The identifier of the request upstream. */
  readonly marker?: string
  readonly error?: { readonly code: string; readonly message: string } | undefined
  /** Signed and expiring: only ever cached, never in an event (P7). */
  readonly urls?: Readonly<Record<string, string>>
  /** Unix milliseconds. */
  readonly createdAtMs?: number
  readonly updatedAtMs?: number
}
