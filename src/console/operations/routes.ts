import { operationsHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import { seesOperations } from '../session/reading-as.ts'
import type { Subject } from '../subject.ts'
import { alertWords } from './channel-words.ts'
import { channelPage } from './channel.tsx'
import { operationsPage } from './operations.tsx'

export const operations: Subject = {
  place: {
    href: operationsHref(),
    name: 'Operations',
    below: [operationsHref()],
    isShownTo: seesOperations,
    alertOf: ({ operations: { attention } }) => alertWords(attention()),
  },
  register: (app, services) => {
    pageRoute(app, services, operationsPage)
    pageRoute(app, services, channelPage)
  },
}
