import { createKeptIds } from '../text/calls/kept-ids.ts'
import { textChannel, textSandbox } from '../text/settings.ts'
import { textRules } from '../text/rules/rules.ts'
import { createTextProvider } from '../text/upstream/client.ts'
import type { FamilyModule } from '../module.ts'
import { messagesRules } from './rules/wire.ts'
import { messagesMount, messagesSurface } from './surface/routes.ts'
import { messagesWire } from './upstream/wire.ts'

/** Messages. */
export const messages: FamilyModule = {
  rules: {
    name: messagesRules.name,
    calls: textRules(messagesRules),
    endpoints: () => ['/v1/messages'],
  },
  channel: textChannel,
  sandbox: [textSandbox('messages', '/messages/v1')],
  mounts: [messagesMount],
  open: ({ markerSecret, clock }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(messagesWire)
    return {
      surfaces: [messagesSurface({ wire: messagesRules, provider, keptIds }, clock)],
      close: provider.close,
    }
  },
}
