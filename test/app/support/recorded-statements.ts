import type { Pool } from 'pg'

/** The same pool, with the names of the statements that it is asked; undefined for one without a name. */
export function recordingStatements(pool: Pool): {
  readonly pool: Pool
  readonly asked: (string | undefined)[]
} {
  const asked: (string | undefined)[] = []
  const recording = new Proxy(pool, {
    get: (target, name) =>
      name === 'query'
        ? (query: { readonly name?: string }, ...rest: unknown[]) => {
            asked.push(query.name)
            return Reflect.apply(target.query.bind(target), undefined, [query, ...rest]) as unknown
          }
        : (Reflect.get(target, name, target) as unknown),
  })
  return { pool: recording, asked }
}
