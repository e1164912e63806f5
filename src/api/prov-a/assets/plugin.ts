import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticate } from '../../../app/access/principal.ts'
import type { Channel } from '../../../app/ports.ts'
import { principalOf, requireToken } from '../../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../../kit/body-budget.ts'
import { useErrors } from '../../kit/envelope.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { objectBody, useJsonBody } from '../../kit/json-body.ts'
import { runners, spellingCheck } from './actions.ts'
import { readAction, VERSION } from './asked.ts'
import type { ActionDeps } from './call.ts'
import { actionSchema } from './documentation.ts'
import { libraryEnvelopeOf, metadataOf, noteRegion, regionOf } from './envelope.ts'

export interface AssetRouteDeps extends ActionDeps {
  readonly authenticate: Authenticate
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

/**
 * The asset library and the verification of real persons, `POST /provA/?Action=…`: to be registered
 * under `/provA` beside its tasks, whose plugin tells unknown routes.
 */
export function assetsPlugin(deps: AssetRouteDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (app: FastifyInstance): Promise<void> => {
    useErrors(app, libraryEnvelopeOf)
    useJsonBody(app, deps.bodyLimitBytes, { withoutHash: true })
    useBodyBudget(app, deps.bodyBudget, deps.bodyLimitBytes)
    requireToken(app, deps.authenticate, 'model')
    const checkSpelling = spellingCheck(deps.foreignMembers)
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const action = readAction(request.query as Readonly<Record<string, unknown>>)
      const body = objectBody(request.body)
      checkSpelling(action, body)
      const call = {
        asking: { principal: principalOf(request), requestId: request.id },
        body,
        noteRegion: (region: Channel['region']) => noteRegion(request, region),
      }
      const result = await runners[action](call, deps)
      // One-time credentials and short-lived addresses are among them.
      void reply.header('cache-control', 'no-store')
      const asked = { action, version: VERSION } as const
      return {
        ResponseMetadata: metadataOf(request.id, asked, regionOf(request)),
        Result: result,
      }
    }
    // The readers of the actions judge query and body, in the words of this interface.
    // Most of the actions look, rename or delete; those that create are limited where they begin as well.
    const config = { startsNothing: true } as const
    const judged = { validatorCompiler: () => () => true, handler, config } as const
    // One route, described once; callers write the last slash.
    app.post('/', { ...judged, prefixTrailingSlash: 'no-slash', schema: actionSchema })
    app.post('/', { ...judged, prefixTrailingSlash: 'slash', schema: { hide: true } })
  }
}
