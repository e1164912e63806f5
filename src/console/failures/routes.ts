import { failedHref, paths, repeatsHref, speedHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { failedPage, failuresFile, refusalsFile } from './failed.tsx'
import { repeatsFile, repeatsPage } from './repeats.tsx'
import { refusedPage } from './refused.tsx'
import { speedFile, speedPage } from './speed.tsx'

export const failures: Subject = {
  place: {
    href: failedHref(),
    name: 'Failed',
    below: [`${failedHref()}/`, speedHref(), repeatsHref()],
    isShownTo: () => true,
  },
  register: (app, services) => {
    pageRoute(app, services, failedPage)
    fileRoute(app, services, failedPage, failuresFile)
    fileRoute(app, services, { ...failedPage, path: paths.refused }, refusalsFile)
    pageRoute(app, services, refusedPage)
    pageRoute(app, services, speedPage)
    fileRoute(app, services, speedPage, speedFile)
    pageRoute(app, services, repeatsPage)
    fileRoute(app, services, repeatsPage, repeatsFile)
  },
}
