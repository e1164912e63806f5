import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../../app/access/principal.ts'
import { requireToken } from '../../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../../kit/body-budget.ts'
import { useEnvelope } from '../../kit/envelope.ts'
import { useJsonBody } from '../../kit/json-body.ts'
import { provBV1Envelope } from './envelope.ts'
import { useKeptAnswers } from '../../kit/keyed-call.ts'
import { mediaFilesPlugin, type MediaFileDeps } from './files/plugin.ts'
import { speechPlugin, type SpeechRouteDeps } from './speech/plugin.ts'
import { voicesPlugin } from './voices/plugin.ts'

export interface ProvBV1Deps extends SpeechRouteDeps, MediaFileDeps {
  readonly authenticate: Authenticate
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/** Speech, its files and its voices, to be registered under `/provB/v1`. */
export function provBV1Plugin(deps: ProvBV1Deps) {
  return async (app: FastifyInstance): Promise<void> => {
    useEnvelope(app, provBV1Envelope)
    useBodyBudget(app, deps.bodyBudget, deps.bodyLimitBytes)
    useJsonBody(app, deps.bodyLimitBytes)
    requireToken(app, deps.authenticate, 'model')
    useKeptAnswers(app)
    await app.register(speechPlugin(deps))
    await app.register(mediaFilesPlugin(deps))
    await app.register(voicesPlugin(deps))
  }
}
