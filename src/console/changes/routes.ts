import { visibleTo } from '../../api/query/scope.ts'
import { changesHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import { readingAs } from '../session/reading-as.ts'
import type { Subject } from '../subject.ts'
import { changesFile, changesPage } from './changes.tsx'

export const changes: Subject = {
  place: {
    href: changesHref(),
    name: 'Changes',
    // Changes are of a tenant as a whole.
    isShownTo: (token) => visibleTo(readingAs(token)).userIds === undefined,
  },
  register: (app, services) => {
    pageRoute(app, services, changesPage)
    fileRoute(app, services, changesPage, changesFile)
  },
}
