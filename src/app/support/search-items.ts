import type { SearchedOwner, SearchedToken } from '../../../projections/access/query.ts'
import type { FoundPosting } from '../../../projections/ledger/query.ts'
import type { SourceSummary } from '../../../projections/timeline/query.ts'
import { lifeKindOf } from '../../domain/lives.ts'
import { isLongerThan } from '../../kernel/characters.ts'
import type { RefusedRequest } from './refusal-list.ts'

/** What a search shows of each kind of thing. */

/** Something that a word stands for. */
export interface SearchItem {
  readonly kind: string
  readonly id: string
  /** The word of the text. */
  readonly matched: string
  readonly tenantId: string
  /** Undefined where it belongs to no user. */
  readonly userId: string | undefined
  /** Time at which it began, Unix milliseconds. */
  readonly atMs: number
  readonly state: string
  /** What support asks first: the model and the amount, a name, a code. */
  readonly summary: string
}

export type Unmatched = Omit<SearchItem, 'matched'>

function kindOf({ sourceId, lastType }: SourceSummary): string {
  return sourceId.startsWith('token_') ? 'token' : (lifeKindOf(lastType) ?? 'other')
}

/** States that the last word of a type does not say. */
const statesOfTypes: Readonly<Record<string, string>> = {
  CallWrittenOff: 'written_off',
  TaskStatusChanged: 'running',
}

/** A state in one word, such as `settled` of `TaskSettled`. */
function stateOf({ lastType, status }: SourceSummary): string {
  const [last = lastType] = /[A-Z][a-z]*$/.exec(lastType) ?? []
  return status ?? statesOfTypes[lastType] ?? last.toLowerCase()
}

function joined(parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== '').join(', ')
}

export function ofSource(source: SourceSummary): Unmatched {
  const { sourceId: id, tenantId, userId, atMs, name, code, settled } = source
  const money = settled && `${settled.amount} ${settled.currency}`
  const summary = joined([name, money ?? code])
  const [kind, state] = [kindOf(source), stateOf(source)]
  return { kind, id, tenantId, userId, atMs, state, summary }
}

/** The most characters of a note in a summary. */
const NOTE_CHARACTERS = 160

/** A life with the note that it was found by. */
export function withNote(item: Unmatched, notes: ReadonlyMap<string, string>): Unmatched {
  const note = notes.get(item.id)
  if (note === undefined) return item
  const line = note.replaceAll(/\s+/g, ' ')
  const text = isLongerThan(line, NOTE_CHARACTERS)
    ? `${Array.from(line).slice(0, NOTE_CHARACTERS).join('')}…`
    : line
  return { ...item, summary: joined([item.summary, `note “${text}”`]) }
}

export function ofPosting(posting: FoundPosting): Unmatched {
  const { kind, id, tenantId, userId, atMs, currency, amount, what } = posting
  const state = kind === 'line' ? 'settled' : 'posted'
  const summary = joined([what, `${amount} ${currency}`])
  return { kind, id, tenantId, userId: userId ?? undefined, atMs, state, summary }
}

export function ofToken(token: SearchedToken, nowMs: number): Unmatched {
  const { tokenId: id, tenantId, userId, issuedAtMs: atMs, disabledAtMs, expiresAtMs } = token
  const isExpired = expiresAtMs !== undefined && expiresAtMs <= nowMs
  const state = disabledAtMs === undefined ? (isExpired ? 'expired' : 'active') : 'disabled'
  const summary = `${token.name}, …${token.lastFour}`
  return { kind: 'token', id, tenantId, userId, atMs, state, summary }
}

export function ofOwner(owner: SearchedOwner): Unmatched {
  const { kind, tenantId, userId, name: summary, state, atMs } = owner
  const id = userId ?? tenantId
  return { kind, id, tenantId, userId: userId ?? undefined, atMs, state, summary }
}

export function ofRefused(refused: RefusedRequest): Unmatched {
  const { requestId: id, tenantId, userId, atMs, code, route } = refused
  const summary = joined([code, route])
  return { kind: 'refused_request', id, tenantId, userId, atMs, state: 'refused', summary }
}
