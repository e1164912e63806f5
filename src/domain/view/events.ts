import { type Static, Type } from '@sinclair/typebox'
import { PersonSchema } from '../account/postings.ts'
import type { FactsOf } from '../event-facts.ts'

/** Views of a tenant by people who are not of it, each with its reason. */
export const viewEvents = {
  TenantViewed: Type.Object({
    tenantId: Type.String(),
    /** One line of 1 to 256 printable characters. */
    reason: Type.String(),
    by: PersonSchema,
    viewedAt: Type.String(),
  }),
} as const

export const viewFacts: FactsOf<typeof viewEvents> = {
  TenantViewed: { source: (d) => d.tenantId, at: (d) => d.viewedAt, words: (d) => d.reason },
}

export type TenantViewed = Static<(typeof viewEvents)['TenantViewed']>
export interface ViewEvent {
  readonly type: 'TenantViewed'
  readonly data: TenantViewed
}

/** Prefix of the names of these streams. */
export const viewStreams = 'views-'

/** Name of the stream of the views of one tenant. */
export function viewStream(tenantId: string): string {
  return `${viewStreams}${tenantId}`
}
