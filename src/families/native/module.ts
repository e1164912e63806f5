import { createKeptIds } from '../../app/calls/text/kept-ids.ts'
import { textChannel } from '../../app/calls/text/settings.ts'
import { textRules } from '../../domain/families/text/rules.ts'
import { createTextProvider } from '../kit/text/client.ts'
import { textSandbox } from '../kit/text/sandbox.ts'
import type { FamilyModule } from '../module.ts'
import { v1beta, v1betaSurface } from './surface/routes.ts'
import { nativeWire } from './upstream/wire.ts'

/** Native content generation. */
export const native: FamilyModule = {
  rules: {
    name: 'native',
    calls: textRules,
    endpoints: () => ['/v1beta/models/{model}:generateContent'],
  },
  channel: textChannel,
  sandbox: [textSandbox('native', '/v1beta')],
  mounts: [v1beta],
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(nativeWire)
    return { surfaces: [v1betaSurface({ provider, keptIds })], close: provider.close }
  },
}
