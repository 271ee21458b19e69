// What pages do with a script: search, the menu of narrow screens, the colour scheme, copying. Without it they can be
// read, and their links lead on.
{
  const root = new URL('.', document.currentScript.src)
  const $ = (selector) => document.querySelector(selector)
  const element = (tag, text, properties = {}) => Object.assign(document.createElement(tag), { textContent: text, ...properties })

  // The colour scheme is the system's until the button is pressed. VitePress's script in the head reads the same key.
  const key = 'vitepress-theme-appearance'
  const system = matchMedia('(prefers-color-scheme: dark)')
  const show = () => {
    const chosen = localStorage.getItem(key) ?? 'auto'
    const dark = chosen === 'auto' ? system.matches : chosen === 'dark'
    document.documentElement.classList.toggle('dark', dark)
    $('.scheme').setAttribute('aria-pressed', dark)
  }
  system.addEventListener('change', show)
  $('.scheme').addEventListener('click', () => {
    localStorage.setItem(key, $('.scheme').getAttribute('aria-pressed') === 'true' ? 'light' : 'dark')
    show()
  })
  show()

  $('.menu').addEventListener('click', () => {
    $('.menu').setAttribute('aria-expanded', $('#pages').classList.toggle('open'))
  })

  // commands are what a terminal's text begins its lines with "$ " for; other text is copied whole.
  const commands = (text) => [...text.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command).join('\n') || text
  for (const button of document.querySelectorAll('button.copy')) {
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(commands(button.parentElement.querySelector('code').textContent))
      button.classList.add('copied')
    })
  }

  // A story is as high as what it shows. From a file system its frame may not be looked into, and keeps the style's height.
  for (const frame of document.querySelectorAll('.story iframe')) {
    const fit = () => { if (frame.clientWidth && frame.contentDocument) frame.style.height = frame.contentDocument.documentElement.scrollHeight + 'px' }
    frame.addEventListener('load', fit)
    fit()
  }

  const dialog = $('#search')
  const input = dialog.querySelector('input')
  const results = dialog.querySelector('ul')
  let index // a promise of the index, once it is wanted

  const load = () => new Promise((resolve) => {
    document.head.append(element('script', '', { src: new URL('search.js', root), onload: () => resolve(window.searchIndex) }))
  })
  const open = () => {
    if (dialog.open) return
    index ??= load()
    dialog.showModal()
    input.select()
  }
  const item = ({ id, page, title }) => {
    const link = element('a', title, { href: new URL(id, root) })
    if (title !== page) link.prepend(element('small', page))
    link.addEventListener('click', () => dialog.close())
    const entry = element('li', '')
    entry.append(link)
    return entry
  }
  const search = async () => {
    const found = (await index).search(input.value, { prefix: true, fuzzy: 0.2, combineWith: 'AND', boost: { title: 4, page: 2 } })
    results.replaceChildren(...found.slice(0, 20).map(item))
    dialog.querySelector('[role=status]').textContent = input.value && `${found.length} found`
  }
  // move moves the focus among the field and the results.
  const move = (by) => {
    const stops = [input, ...results.querySelectorAll('a')]
    stops[(stops.indexOf(document.activeElement) + by + stops.length) % stops.length].focus()
  }

  $('.find').addEventListener('click', open)
  input.addEventListener('input', search)
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close() })
  dialog.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) move(by)
    else if (event.key === 'Escape') dialog.close()
    else if (event.key === 'Enter' && document.activeElement === input) results.querySelector('a')?.click()
    else return
    event.preventDefault()
  })
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)
    const wanted = event.key === '/' ? !typing : event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
    if (!wanted) return
    event.preventDefault()
    open()
  })
}
