import type { ProviderError } from '../ports/provider.ts'
import type { ChannelOutcome } from './health.ts'

/** How the calls of a channel ended last, for operators: no choice of a channel reads it. */

/** Failures that are kept. */
const KEPT_FAILURES = 10

/** The error of a failed call, as operators see it. */
interface ShownError extends Pick<ProviderError, 'kind' | 'status' | 'code' | 'message'> {
  /** External name; undefined for work without a model. */
  readonly model: string | undefined
}

/** The last outcomes of a channel in this process. */
export interface ShownOutcomes {
  /** Time since the first failure after the last success; undefined while it does not fail. */
  readonly failingForMs: number | undefined
  /** Time since the last success; undefined: none since the process started. */
  readonly workedAgoMs: number | undefined
  /** The last ten failures since the process started, newest first. */
  readonly failures: readonly (ShownError & { readonly agoMs: number })[]
}

/** The members of an error that operators see. */
export function shownError({ kind, status, code, message }: ProviderError) {
  return { kind, status, code, message }
}

/** Notes outcomes; a success costs two assignments. */
export class ChannelOutcomes {
  #workedAtMs: number | undefined
  #failingSinceMs: number | undefined
  /** Newest first. */
  #failures: readonly (ShownError & { readonly atMs: number })[] = []

  note(outcome: ChannelOutcome, nowMs: number, error: ShownError | undefined): void {
    if (outcome === 'success') {
      this.#workedAtMs = nowMs
      this.#failingSinceMs = undefined
    }
    if (error === undefined) return
    this.#failingSinceMs ??= nowMs
    this.#failures = [{ ...error, atMs: nowMs }, ...this.#failures.slice(0, KEPT_FAILURES - 1)]
  }

  shown(nowMs: number): ShownOutcomes {
    const since = (atMs: number | undefined) => (atMs === undefined ? undefined : nowMs - atMs)
    return {
      failingForMs: since(this.#failingSinceMs),
      workedAgoMs: since(this.#workedAtMs),
      failures: this.#failures.map(({ atMs, ...failure }) => ({ ...failure, agoMs: nowMs - atMs })),
    }
  }
}
