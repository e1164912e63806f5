import type { FastifySchema } from 'fastify'
import { type AccountRoute, describeAccount } from '../kit/account-surface.ts'
import { queryEnvelope } from './envelope.ts'

/** What the OpenAPI description says of a query, its failures included. */
export function describe(route: AccountRoute): FastifySchema {
  return describeAccount(queryEnvelope, 'queryToken', route)
}
