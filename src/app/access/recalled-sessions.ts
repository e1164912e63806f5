import type { Clock } from '../../kernel/clock.ts'
import { newSecret, sha256Hex } from '../../kernel/ids.ts'
import { createLru } from '../../kernel/lru.ts'
import { withTimeout } from '../../kernel/pause.ts'
import {
  type ConsoleSession,
  type ConsoleSessions,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
  SESSION_PREFIX,
} from './console-sessions.ts'

/**
 * Sessions of the console that this process has seen: while Postgres does not answer they are recalled, so
 * that operators see the state of the process. While it answers, only its rows count.
 */

/** The sessions that are recalled at most; those that were used last. */
const MAX_RECALLED = 1_000
/** A session that is known waits no longer for Postgres. */
const FIND_WAIT_MS = 2_000

interface Known {
  readonly session: ConsoleSession
  /** Unix milliseconds after which it has ended. */
  readonly endsAtMs: number
  readonly seenAtMs: number
}

/** A session, and whether it is only recalled. */
export type RecalledSession = ConsoleSession & { readonly isRecalled: boolean }

export interface RecallingSessions extends Omit<ConsoleSessions, 'find'> {
  /** Finds a session, or recalls it while Postgres does not answer; undefined if it has ended. */
  readonly find: (id: string) => Promise<RecalledSession | undefined>
  /** Opens a session that this process alone knows, and only until Postgres answers again. */
  readonly openHere: (session: ConsoleSession) => string
}

export function recallSessions(sessions: ConsoleSessions, clock: Clock): RecallingSessions {
  const known = createLru<string, Known>(MAX_RECALLED)
  const note = (id: string, session: ConsoleSession, ageMs = 0): void => {
    const nowMs = clock.nowMs()
    const endsAtMs = nowMs + SESSION_MAX_MS - ageMs
    known.set(sha256Hex(id), { session, endsAtMs, seenAtMs: nowMs })
  }
  const recall = (hash: string): ConsoleSession | undefined => {
    const found = known.get(hash)
    if (found === undefined) return undefined
    const nowMs = clock.nowMs()
    if (nowMs >= found.endsAtMs || nowMs - found.seenAtMs >= SESSION_IDLE_MS) {
      known.delete(hash)
      return undefined
    }
    known.set(hash, { ...found, seenAtMs: nowMs })
    return found.session
  }
  const found = async (id: string, hash: string): Promise<RecalledSession | undefined> => {
    const session = await sessions.find(id)
    if (session === undefined) {
      known.delete(hash)
      return undefined
    }
    note(id, session, session.ageMs)
    return { ...session, isRecalled: false }
  }
  return {
    ...sessions,
    open: async (session) => {
      const id = await sessions.open(session)
      note(id, { secretHash: session.secretHash, viewedTenants: [] })
      return id
    },
    find: async (id) => {
      const hash = sha256Hex(id)
      try {
        if (!known.has(hash)) return await found(id, hash)
        return await withTimeout(FIND_WAIT_MS, found(id, hash), () => {
          throw new Error('Postgres does not answer')
        })
      } catch (error) {
        const session = recall(hash)
        if (session === undefined) throw error
        return { ...session, isRecalled: true }
      }
    },
    openHere: (session) => {
      const id = newSecret(SESSION_PREFIX)
      note(id, session)
      return id
    },
    end: async (id) => {
      known.delete(sha256Hex(id))
      await sessions.end(id)
    },
  }
}
