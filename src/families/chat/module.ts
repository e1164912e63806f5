import { createKeptIds } from '../text/calls/kept-ids.ts'
import { textChannel, textSandbox } from '../text/settings.ts'
import { textRules } from '../text/rules/rules.ts'
import { createTextProvider } from '../text/upstream/client.ts'
import type { FamilyModule } from '../module.ts'
import { chatRules } from './rules/wire.ts'
import { chatSurface } from './surface/routes.ts'
import { chatWire } from './upstream/wire.ts'

/** Chat completions. */
export const chat: FamilyModule = {
  rules: {
    name: chatRules.name,
    calls: textRules(chatRules),
    endpoints: () => ['/v1/chat/completions'],
  },
  channel: textChannel,
  sandbox: [textSandbox('chat', '/v1')],
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(chatWire)
    return {
      surfaces: [chatSurface({ wire: chatRules, provider, keptIds })],
      close: provider.close,
    }
  },
}
