import { createKeptIds } from '../../app/calls/text/kept-ids.ts'
import { textChannel } from '../../app/calls/text/settings.ts'
import { textRules } from '../../domain/families/text/rules.ts'
import { createTextProvider } from '../kit/text/client.ts'
import { textSandbox } from '../kit/text/sandbox.ts'
import type { FamilyModule } from '../module.ts'
import { chatSurface } from './surface/routes.ts'
import { chatWire } from './upstream/wire.ts'

/** Chat completions. */
export const chat: FamilyModule = {
  rules: { name: 'chat', calls: textRules, endpoints: () => ['/v1/chat/completions'] },
  channel: textChannel,
  sandbox: [textSandbox('chat', '/v1')],
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(chatWire)
    return { surfaces: [chatSurface({ provider, keptIds })], close: provider.close }
  },
}
