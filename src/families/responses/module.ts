import { createKeptIds } from '../text/calls/kept-ids.ts'
import { textChannel, textSandbox } from '../text/settings.ts'
import { textRules } from '../text/rules/rules.ts'
import { createCountPlaces } from '../text/calls/counts.ts'
import { createTextProvider } from '../text/upstream/client.ts'
import { createTokenCounter } from '../text/upstream/counts.ts'
import type { FamilyModule } from '../module.ts'
import { responsesRules } from './rules/wire.ts'
import { keptResponsesSurface } from './surface/kept.ts'
import { compactSurface, responseCountSurface, responsesSurface } from './surface/routes.ts'
import { compactWire } from './upstream/compact.ts'
import { createKeptResponseProvider } from './upstream/kept.ts'
import { responsesWire } from './upstream/wire.ts'

/** Responses. */
export const responses: FamilyModule = {
  rules: {
    name: responsesRules.name,
    calls: textRules(responsesRules),
    endpoints: () => ['/v1/responses'],
  },
  channel: textChannel,
  sandbox: [textSandbox('responses', '/v1')],
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(responsesWire)
    const compactor = createTextProvider(compactWire)
    const counter = createTokenCounter(responsesWire)
    const kept = createKeptResponseProvider()
    const upstream = { wire: responsesRules, provider, keptIds }
    return {
      surfaces: [
        responsesSurface(upstream),
        compactSurface({ ...upstream, provider: compactor }),
        responseCountSurface({ ...upstream, counter, places: createCountPlaces() }),
        keptResponsesSurface({ keptIds, provider: kept }),
      ],
      close: async () =>
        void (await Promise.all([provider, compactor, counter, kept].map((one) => one.close()))),
      callOfAnswer: (tenantId, id) => keptIds.open(tenantId, 'response', id)?.callId,
    }
  },
}
