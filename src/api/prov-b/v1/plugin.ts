import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../../app/access/principal.ts'
import { requireToken } from '../../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../../kit/body-budget.ts'
import { useEnvelope } from '../../kit/envelope.ts'
import { useJsonBody } from '../../kit/json-body.ts'
import { provBV1Envelope } from './envelope.ts'

export interface ProvBV1Deps {
  readonly authenticate: Authenticate
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/** Speech, to be registered under `/provB/v1`. */
export function provBV1Plugin(deps: ProvBV1Deps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (app: FastifyInstance): Promise<void> => {
    useEnvelope(app, provBV1Envelope)
    useBodyBudget(app, deps.bodyBudget, deps.bodyLimitBytes)
    useJsonBody(app, deps.bodyLimitBytes)
    requireToken(app, deps.authenticate, 'model')
  }
}
