import type { FastifySchema } from 'fastify'
import { type AccountRoute, describeAccount } from '../kit/routes/account-surface.ts'
import { queryEnvelope } from './envelope.ts'

/** The OpenAPI description of a query, including its failures. */
export function describeQuery(route: AccountRoute): FastifySchema {
  return describeAccount(queryEnvelope, 'queryToken', route)
}
