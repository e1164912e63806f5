import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Channel } from '../../../app/ports.ts'
import { principalOf } from '../../../api/kit/authenticate.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import type { Mount, Services, Surface } from '../../../api/kit/surface.ts'
import { runners, spellingCheck } from './actions.ts'
import { isLibraryUrl, readAction, VERSION } from './asked.ts'
import { actionSchema } from './documentation.ts'
import { libraryEnvelope, libraryEnvelopeOf, metadataOf, noteRegion, regionOf } from './envelope.ts'
import { alsoInActions, bodySchemas } from './schemas.ts'

/** The asset library and the verification of real persons: `POST /provA/?Action=…`. */

/** Below the prefix that tasks have, whose mount tells unknown routes. */
export const library: Mount = {
  prefix: '/provA',
  owns: isLibraryUrl,
  envelopeOf: libraryEnvelope,
  readEnvelopeOf: libraryEnvelopeOf,
  // Names and addresses, never media.
  bodyBytes: 64 * 1024,
  body: { withoutHash: true },
}

const creations = ['CreateAssetGroup', 'CreateAsset', 'CreateVisualValidateSession'] as const

function register(app: FastifyInstance, services: Services): void {
  const checkSpelling = spellingCheck(services.foreignMembers)
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const action = readAction(request.query as Readonly<Record<string, unknown>>)
    const body = objectBody(request.body)
    checkSpelling(action, body)
    const call = {
      asking: { principal: principalOf(request), requestId: request.id },
      body,
      noteRegion: (region: Channel['region']) => noteRegion(request, region),
    }
    const result = await runners[action](call, services)
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

export const librarySurface: Surface = {
  mount: library,
  endpoints: {},
  bodies: creations.map((action) => ({
    schema: bodySchemas[action],
    also: alsoInActions[action] ?? {},
  })),
  register,
}
