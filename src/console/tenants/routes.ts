import { formRoute } from '../form-routes.ts'
import { tenantsHref, tokenHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { historyPage } from './activity.tsx'
import { limitForm, statusForm } from './forms.tsx'
import { tenantPage } from './tenant.tsx'
import { tenantsPage } from './tenants.tsx'
import { disableForm, rotateForm, tokenPage } from './token.tsx'
import { lookRoutes } from './view-reason.tsx'

export const tenants: Subject = {
  place: {
    href: tenantsHref(),
    name: 'Tenants',
    below: [tenantsHref(), tokenHref('')],
    isShownTo: ({ kind }) => kind === 'admin',
  },
  register: (app, services) => {
    const { settings, tokens } = services.accounts
    pageRoute(app, services, tenantsPage)
    pageRoute(app, services, tenantPage)
    pageRoute(app, services, tokenPage)
    pageRoute(app, services, historyPage)
    formRoute(app, services, tenantPage, statusForm(settings))
    formRoute(app, services, tenantPage, limitForm(settings))
    formRoute(app, services, tokenPage, disableForm(tokens))
    formRoute(app, services, tokenPage, rotateForm(tokens))
    lookRoutes(app, services)
  },
}
