import { Map as ManyEntries } from 'immutable'
import { fromTimestamp } from '../../kernel/clock.ts'
import { isPrintable } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import type { Decider } from '../decider.ts'
import type { Note, NoteEvent } from './events.ts'

/** Notes of one tenant: its support writes few, and a program that writes many is stopped. */
export const MAX_NOTES = 10_000
const MAX_TEXT_CHARACTERS = 1_000
/** The provider is asked again about one task on request at most so often within `ASKED_WITHIN_MS`. */
export const MAX_ASKED = 6
const ASKED_WITHIN_MS = 60_000

/** The notes of a tenant without their texts, so that ten thousand of them stay small. */
export interface NotesState {
  /** Hashes of notes by their ids. */
  readonly prints: ManyEntries<string, string>
  /** Times of the latest requests to ask again, by task, Unix milliseconds, oldest first. */
  readonly asked: ManyEntries<string, readonly number[]>
}

/** Posts a note; `data.postedAt` is the time of the request. */
export interface NoteCommand {
  readonly kind: 'post'
  readonly data: Note
}

/** Everything that must be equal where an id is repeated. */
function printOf({ about, action, text, audience }: Note): string {
  return sha256Hex(JSON.stringify([about, action ?? null, text, audience]))
}

/** A text of lines, each with printable characters only. */
function checkText(text: string): void {
  const inOneLine = text.replaceAll('\n', ' ')
  if (text.trim() !== '' && isPrintable(inOneLine, MAX_TEXT_CHARACTERS)) return
  throw new DomainError(
    'invalid_request',
    `a note has 1 to ${MAX_TEXT_CHARACTERS} printable characters, in one or more lines`,
    {},
  )
}

function checkPace({ about, postedAt }: Note, { asked }: NotesState): void {
  const now = fromTimestamp(postedAt)
  const recent = (asked.get(about) ?? []).filter((at) => at > now - ASKED_WITHIN_MS)
  const [first] = recent
  if (first === undefined || recent.length < MAX_ASKED) return
  const retryAfterMs = Math.max(1_000, first + ASKED_WITHIN_MS - now)
  throw new DomainError(
    'rate_limited',
    `the provider was asked ${MAX_ASKED} times within a minute about ${about}: ask again in ${Math.ceil(retryAfterMs / 1_000)} s`,
    { limitedBy: 'gateway', limit: 'polls', retryAfterMs },
  )
}

/**
 * A note with the same id, text, subject and action yields no event, so that a request that lost its
 * answer is repeated safely.
 *
 * @throws DomainError `invalid_request`, `note_exists`, `too_many_notes`, `rate_limited`
 */
export const noteDecider: Decider<NotesState, NoteCommand, NoteEvent> = {
  initial: { prints: ManyEntries(), asked: ManyEntries() },

  decide({ data }, state) {
    checkText(data.text)
    const { noteId, action } = data
    const earlier = state.prints.get(noteId)
    if (earlier === printOf(data)) return []
    if (earlier !== undefined)
      throw new DomainError('note_exists', `another note has the id ${noteId}`, {})
    if (state.prints.size >= MAX_NOTES)
      throw new DomainError('too_many_notes', `a tenant has at most ${MAX_NOTES} notes`, {})
    if (action === 'poll') checkPace(data, state)
    return [{ type: 'NotePosted', data: data }]
  },

  evolve(state, { data }) {
    const { noteId, about, action, postedAt } = data
    const prints = state.prints.set(noteId, printOf(data))
    if (action !== 'poll') return { ...state, prints }
    const before = state.asked.get(about) ?? []
    const latest = [...before, fromTimestamp(postedAt)].slice(-MAX_ASKED)
    return { prints, asked: state.asked.set(about, latest) }
  },
}
