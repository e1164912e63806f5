import type { Pool, PoolClient } from 'pg'

/**
 * Carries out what runs at once in an order that a test chooses. Statements run in Postgres as soon as
 * they are sent; their answers, and everything else that passes a gate, wait until they are chosen. A
 * choice is made only when nothing is on its way but statements behind a lock that another session holds,
 * so that the same choices give the same order.
 */
export interface Interleaver {
  /** The same pool, whose answers wait to be chosen; sessions have those of their statements in order. */
  readonly pool: (pool: Pool) => Pool
  /** Waits to be chosen. */
  readonly gate: () => Promise<void>
  /** Does something outside, at once. */
  readonly outside: <Value>(work: Promise<Value>) => Promise<Value>
  /** Makes choices until all of it is over. `choose` takes one of so many. */
  readonly run: (all: readonly Promise<unknown>[], choose: (of: number) => number) => Promise<void>
}

/** A session that waits for the lock or holds it. */
interface Session {
  lock: 'none' | 'waiting' | 'held'
  onItsWay: number
}

export function createInterleaver(): Interleaver {
  const waiting: (() => void)[] = []
  const sessions = new Set<Session>()
  let outsideCount = 0

  const gate = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  const outside = async <Value>(work: Promise<Value>): Promise<Value> => {
    outsideCount += 1
    try {
      return await work
    } finally {
      outsideCount -= 1
    }
  }
  const isQuiet = (): boolean => {
    const isHeld = [...sessions].some(({ lock }) => lock === 'held')
    const isMoving = ({ lock, onItsWay }: Session): boolean =>
      onItsWay > 0 && !(isHeld && lock === 'waiting')
    return outsideCount === 0 && ![...sessions].some(isMoving)
  }

  const gatedSession = (client: PoolClient): PoolClient => {
    const session: Session = { lock: 'none', onItsWay: 0 }
    sessions.add(session)
    let before: Promise<unknown> = Promise.resolve()
    const send = async (statement: unknown, values: unknown): Promise<unknown> => {
      const text = typeof statement === 'string' ? statement : ''
      if (text.includes('pg_advisory_xact_lock')) session.lock = 'waiting'
      session.onItsWay += 1
      try {
        const answer: unknown = await (client.query as Query).call(client, statement, values)
        if (session.lock === 'waiting') session.lock = 'held'
        if (text === 'commit') session.lock = 'none'
        return answer
      } finally {
        session.onItsWay -= 1
      }
    }
    const query = (statement: unknown, values?: unknown): Promise<unknown> => {
      const sent = send(statement, values)
      const answered = before.then(async () => {
        await Promise.allSettled([sent])
        await gate()
        return sent
      })
      before = answered.catch(() => undefined)
      return answered
    }
    return withMethods(client, {
      query,
      release: (error?: boolean) => {
        sessions.delete(session)
        client.release(error)
      },
    })
  }

  return {
    pool: (pool) =>
      withMethods(pool, {
        connect: async () => gatedSession(await outside(pool.connect())),
        query: async (statement: unknown, values?: unknown) => {
          const answer = await outside((pool.query as Query).call(pool, statement, values))
          await gate()
          return answer
        },
      }),
    gate,
    outside,
    run: async (all, choose) => {
      let isOver = false
      const over = Promise.allSettled(all).then(() => (isOver = true))
      for (;;) {
        do await new Promise((resolve) => setImmediate(resolve))
        while (!isQuiet())
        if (isOver) break
        waiting.splice(choose(waiting.length), 1)[0]?.()
      }
      await over
    },
  }
}

type Query = (statement: unknown, values?: unknown) => Promise<unknown>

/** The same object, with some of its methods in place of its own. */
function withMethods<Of extends object>(of: Of, methods: Readonly<Record<string, unknown>>): Of {
  return new Proxy(of, {
    get: (target, name) => {
      const own: unknown = typeof name === 'string' ? methods[name] : undefined
      if (own !== undefined) return own
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
