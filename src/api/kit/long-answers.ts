import type { FastifyInstance } from 'fastify'
import { inTurns, type Work } from '../../kernel/turns.ts'

/** Items that are written at once. */
const ITEMS_AT_ONCE = 50

/** The longest list in an answer or in a member of it. */
function longestList(value: unknown, depth = 2): number {
  if (Array.isArray(value)) return value.length
  if (typeof value !== 'object' || value === null || depth === 0) return 0
  return Math.max(0, ...Object.values(value).map((member) => longestList(member, depth - 1)))
}

const hasOwnForm = (value: object): boolean => 'toJSON' in value

/** The text that `JSON.stringify` makes of a value; undefined for what it leaves out. */
export function* jsonInParts(value: unknown): Work<string | undefined> {
  if (Array.isArray(value)) {
    const parts: string[] = []
    for (let at = 0; at < value.length; at += ITEMS_AT_ONCE) {
      parts.push(JSON.stringify(value.slice(at, at + ITEMS_AT_ONCE)).slice(1, -1))
      yield
    }
    return `[${parts.join(',')}]`
  }
  if (typeof value !== 'object' || value === null || hasOwnForm(value)) return JSON.stringify(value)
  const members: string[] = []
  for (const [name, member] of Object.entries(value)) {
    const text = yield* jsonInParts(member)
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

/** Writes answers with long lists in turns with other requests, for the routes below a plugin. */
export function useLongAnswers(app: FastifyInstance): void {
  app.addHook('preSerialization', async (_request, reply, payload) => {
    if (longestList(payload) <= ITEMS_AT_ONCE) return payload
    const text = await inTurns(jsonInParts(payload))
    void reply.serializer(() => text ?? '')
    return payload
  })
}
