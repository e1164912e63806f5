import type { Buffer } from 'node:buffer'
import type { Channel } from '../../../app/ports.ts'
import { type LiftedJson, parseLifting } from '../../../kernel/long-strings.ts'
import { malformed } from './failures.ts'

/** Answers that are mostly one long string: a picture or a piece of audio. */

/** It stays the bytes it came as. @throws ProviderError */
export function parseMedia(body: readonly Buffer[]): LiftedJson {
  try {
    return parseLifting(body)
  } catch (error) {
    throw malformed(error)
  }
}

/** The head of a stream may only come with what it carries, and that takes as long as a whole answer may. */
export function mediaPatience({ timeoutMs }: Channel) {
  return { firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }
}
