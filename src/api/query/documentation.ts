import type { FastifySchema } from 'fastify'
import { type AccountRoute, describeAccount } from '../kit/routes/account-surface.ts'
import { queryEnvelope } from './envelope.ts'

/** Each table can be had as lines of JSON too. */
const jsonLines = { 'application/x-ndjson': 'A line of JSON for each row of the table.' } as const

/** The OpenAPI description of a query, including its failures. */
export function describeQuery(route: AccountRoute): FastifySchema {
  const files = route.csv === true ? { ...jsonLines, ...route.files } : route.files
  return describeAccount(queryEnvelope, 'queryToken', { ...route, ...(files && { files }) })
}
