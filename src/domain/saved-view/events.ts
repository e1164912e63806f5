import { type Static, Type } from '@sinclair/typebox'
import { PersonSchema } from '../account/postings.ts'
import type { FactsOf } from '../event-facts.ts'

/** Pages of the console that people saved under a name, for all people who see the same tenants. */

const listed = {
  /** The tenant whose people share the view; absent: those who see all tenants. */
  tenantId: Type.Optional(Type.String()),
  /** Names the view in its list. One line of 1 to 80 printable characters. */
  name: Type.String(),
  by: PersonSchema,
}

export const savedViewEvents = {
  ViewSaved: Type.Object({
    ...listed,
    /** A path of the console with its query. */
    address: Type.String(),
    savedAt: Type.String(),
  }),
  SavedViewRemoved: Type.Object({ ...listed, removedAt: Type.String() }),
} as const

export const savedViewFacts: FactsOf<typeof savedViewEvents> = {
  ViewSaved: {
    source: () => undefined,
    at: (d) => d.savedAt,
    words: ({ name, address }) => `${name}: ${address}`,
  },
  SavedViewRemoved: { source: () => undefined, at: (d) => d.removedAt, words: (d) => d.name },
}

export type ViewSaved = Static<(typeof savedViewEvents)['ViewSaved']>
export type SavedViewRemoved = Static<(typeof savedViewEvents)['SavedViewRemoved']>
export type SavedViewEvent =
  | { readonly type: 'ViewSaved'; readonly data: ViewSaved }
  | { readonly type: 'SavedViewRemoved'; readonly data: SavedViewRemoved }

/** Prefix of the names of these streams. */
export const savedViewStreams = 'saved-views-'

/** Name of the stream of the views of a tenant's people, or of the people who see all tenants. */
export function savedViewStream(tenantId: string | undefined): string {
  // No id of a tenant has this character.
  return `${savedViewStreams}${tenantId ?? '*'}`
}
