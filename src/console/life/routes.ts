import { formRoute } from '../form-routes.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { lifeActions, lifeForm } from './actions.tsx'
import { findPage, findRoute } from './find.tsx'
import { lifePage } from './life.tsx'
import { refundForm } from './refund.tsx'

/** Lives have no place: the search field of the head leads to them. */
export const life: Subject = {
  register: (app, services) => {
    pageRoute(app, services, findPage)
    findRoute(app, services)
    pageRoute(app, services, lifePage)
    formRoute(app, services, lifePage, refundForm(services))
    for (const action of lifeActions)
      formRoute(app, services, lifePage, lifeForm(services.accounts.lives, action))
  },
}
