import { type Static, Type } from '@sinclair/typebox'
import { oneLine } from '../../kernel/plain-text.ts'
import { PersonSchema } from '../account/postings.ts'
import type { FactsOf } from '../event-facts.ts'

/** Actions of support that a note explains. */
export const noteActions = ['poll', 'give_up'] as const
const ActionSchema = Type.Union(noteActions.map((action) => Type.Literal(action)))
export type NoteAction = (typeof noteActions)[number]

/** Readers of a note: operators alone, or the administrators of its tenant too. */
export const noteAudiences = ['operators', 'tenant'] as const
const AudienceSchema = Type.Union(noteAudiences.map((audience) => Type.Literal(audience)))
export type NoteAudience = (typeof noteAudiences)[number]

/** Notes of support about the lives of a tenant. */
export const noteEvents = {
  NotePosted: Type.Object({
    tenantId: Type.String(),
    noteId: Type.String(),
    /** The gateway's id of the task, call, asset or file. */
    about: Type.String(),
    /** The action that the note explains; absent: it is only a note. The life itself says whether it was done. */
    action: Type.Optional(ActionSchema),
    /** 1 to 1,000 printable characters in lines. */
    text: Type.String(),
    audience: AudienceSchema,
    by: Type.Optional(PersonSchema),
    postedAt: Type.String(),
  }),
} as const

export const noteFacts: FactsOf<typeof noteEvents> = {
  NotePosted: {
    source: (d) => d.about,
    at: (d) => d.postedAt,
    words: (d) => `${d.action ?? 'note'}: ${oneLine(d.text)}`,
  },
}

export type Note = Static<(typeof noteEvents)['NotePosted']>
export interface NoteEvent {
  readonly type: 'NotePosted'
  readonly data: Note
}

/** Prefix of the names of these streams. */
export const noteStreams = 'notes-'

/** Name of the stream of the notes about all lives of a tenant. */
export function noteStream(tenantId: string): string {
  return `${noteStreams}${tenantId}`
}
