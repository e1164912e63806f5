import type { FastifySchema } from 'fastify'
import { type AccountRoute, describeAccount } from '../kit/account-surface.ts'
import { adminEnvelope } from './envelope.ts'

/** What the OpenAPI description says of such a route, its failures included. */
export function describe(route: AccountRoute): FastifySchema {
  return describeAccount(adminEnvelope, 'adminToken', route)
}
