import { createKeptIds } from '../../app/calls/text/kept-ids.ts'
import { textChannel } from '../../app/calls/text/settings.ts'
import { textRules } from '../../domain/families/text/rules.ts'
import { createTextProvider } from '../kit/text/client.ts'
import { textSandbox } from '../kit/text/sandbox.ts'
import type { FamilyModule } from '../module.ts'
import { responsesSurface } from './surface/routes.ts'
import { responsesWire } from './upstream/wire.ts'

/** Responses. */
export const responses: FamilyModule = {
  rules: { name: 'responses', calls: textRules, endpoints: () => ['/v1/responses'] },
  channel: textChannel,
  sandbox: [textSandbox('responses', '/v1')],
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(responsesWire)
    return { surfaces: [responsesSurface({ provider, keptIds })], close: provider.close }
  },
}
