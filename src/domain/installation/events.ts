import { type Static, Type } from '@sinclair/typebox'
import type { FactsOf } from '../event-facts.ts'

/** The events name the one database that belongs to a log, because balances and limits are decided in it. */
export const installationEvents = {
  /** A first start adopted the database, or an operator did after another one had replaced it. */
  DatabaseAdopted: Type.Object({
    databaseId: Type.String(),
    /** Names the log itself: the same in all of its events. */
    logId: Type.String(),
    adoptedAt: Type.String(),
  }),
} as const

export const installationFacts: FactsOf<typeof installationEvents> = {
  DatabaseAdopted: {
    source: () => undefined,
    at: (d) => d.adoptedAt,
    words: (d) => d.databaseId,
  },
}

export type DatabaseAdopted = Static<typeof installationEvents.DatabaseAdopted>
export type InstallationEvent = {
  readonly type: 'DatabaseAdopted'
  readonly data: DatabaseAdopted
}

/**
 * The one stream of it. Only starts, commands and the check of a running gateway read it. No reader of
 * all streams does (`streamPrefixes`): a program of before this stream would otherwise wait for a
 * position that it cannot reach, or look up an event that it does not know.
 */
export const installationStream = 'installation'
