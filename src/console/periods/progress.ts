import { Type } from 'typebox'

/** Closes that go on after the answer to their form: their pages ask again until they are over. */

/** A page asks again this often. */
export const ASKS_EVERY = 'every 2s'
/** A page stops asking after this long without a change: the largest month takes minutes. */
const QUIET_MS = 300_000

const UnixMs = Type.String({ pattern: '^\\d{1,15}$', words: 'must be Unix milliseconds' })
const Count = Type.String({ pattern: '^\\d{1,9}$', words: 'must be a number' })

/** Members of the address of a page to which a form has led. */
export const progressMembers = {
  /** When the form was sent. */
  sent: Type.Optional(UnixMs),
  /** The count that was seen last, and since when: only a part that asks by itself has it. */
  since: Type.Optional(
    Type.String({ pattern: '^\\d{1,9}-\\d{1,15}$', words: 'must be a count and a time' }),
  ),
}
/** Members of the address of a board to which the form that closes all has led. */
export const batchMembers = {
  ...progressMembers,
  /** Months that were ready when the form came. */
  begun: Type.Optional(Count),
  /** Months that were ready when the reader looked. */
  looked: Type.Optional(Count),
}

/** How far a close is that was begun. */
export interface Progress {
  /** Whether the page asks again. */
  readonly asks: boolean
  /** Whether nothing has changed since the part asked last. */
  readonly isUnchanged: boolean
  /** The text of `since` for the next time. */
  readonly since: string
}

/** Reads the progress of something of which so many are left. */
export function progressOf(
  { sent, since }: { readonly sent?: string | undefined; readonly since?: string | undefined },
  left: number,
  nowMs: number,
): Progress {
  const [seen, fromMs] = (since ?? '').split('-')
  const isSame = seen === String(left)
  // A part that has seen a change counts from now on; a page that is loaded, from the form.
  const changedMs = isSame ? Number(fromMs) : since === undefined ? Number(sent ?? 0) : nowMs
  const asks = left > 0 && nowMs - changedMs < QUIET_MS
  return { asks, isUnchanged: isSame && asks, since: `${left}-${changedMs}` }
}
