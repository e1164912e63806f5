import { Map as ManyEntries } from 'immutable'
import { isPrintable } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { SavedViewEvent, SavedViewRemoved, ViewSaved } from './events.ts'

/** Views of one list at once. */
export const MAX_SAVED_VIEWS = 100
/** Changes of one list: each process reads them once. */
export const MAX_SAVED_VIEW_CHANGES = 10_000
export const MAX_VIEW_NAME_CHARACTERS = 80

/** The views of one list by their names. */
export interface SavedViewsState {
  readonly views: ManyEntries<string, ViewSaved>
  readonly changes: number
}

export type SavedViewCommand =
  | { readonly kind: 'save'; readonly data: ViewSaved }
  | { readonly kind: 'remove'; readonly data: SavedViewRemoved }

const refuse = (param: string, message: string): never => {
  throw new DomainError('invalid_request', message, { param })
}

function save(data: ViewSaved, { views }: SavedViewsState): readonly SavedViewEvent[] {
  const { name, address } = data
  if (name.trim() !== name || !isPrintable(name, MAX_VIEW_NAME_CHARACTERS) || name === '')
    refuse('name', `name must be one line of 1 to ${MAX_VIEW_NAME_CHARACTERS} printable characters`)
  const earlier = views.get(name)
  if (earlier?.address === address) return []
  if (earlier !== undefined)
    refuse('name', `name ${name} is that of another view: choose another, or remove that one first`)
  if (views.size >= MAX_SAVED_VIEWS)
    refuse('name', `at most ${MAX_SAVED_VIEWS} views are saved: remove one first`)
  return [{ type: 'ViewSaved', data }]
}

/**
 * A view that is saved again as it is, and a removal of a view that is not there, decide to no event.
 * @throws DomainError `invalid_request`
 */
export const savedViewDecider: Decider<SavedViewsState, SavedViewCommand, SavedViewEvent> = {
  initial: { views: ManyEntries(), changes: 0 },
  decide(command, state) {
    const events: readonly SavedViewEvent[] =
      command.kind === 'save'
        ? save(command.data, state)
        : state.views.has(command.data.name)
          ? [{ type: 'SavedViewRemoved', data: command.data }]
          : []
    if (events.length > 0 && state.changes >= MAX_SAVED_VIEW_CHANGES)
      refuse(
        'name',
        `these views were changed ${MAX_SAVED_VIEW_CHANGES} times, and stay as they are`,
      )
    return events
  },
  evolve({ views, changes }, { type, data }) {
    const next = type === 'ViewSaved' ? views.set(data.name, data) : views.delete(data.name)
    return { views: next, changes: changes + 1 }
  },
}
