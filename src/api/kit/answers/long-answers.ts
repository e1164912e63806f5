import type { FastifyInstance } from 'fastify'
import { inTurns } from '../../../kernel/turns.ts'
import { writeJson } from '../../../kernel/write-json.ts'

/** An answer with a longer list is written in parts. */
const ITEMS_AT_ONCE = 50

/** The longest list in an answer or in a member of it. */
function longestList(value: unknown, depth = 2): number {
  if (Array.isArray(value)) return value.length
  if (typeof value !== 'object' || value === null || depth === 0) return 0
  return Math.max(0, ...Object.values(value).map((member) => longestList(member, depth - 1)))
}

/** Writes answers with long lists in turns with other requests, for the routes below a plugin. */
export function useLongAnswers(app: FastifyInstance): void {
  app.addHook('preSerialization', async (_request, reply, payload) => {
    if (longestList(payload) <= ITEMS_AT_ONCE) return payload
    const parts: string[] = []
    await inTurns(writeJson(payload, (part) => parts.push(part)))
    void reply.serializer(() => parts.join(''))
    return payload
  })
}
