// Light and dark colours: those of the system, unless the reader has chosen. The choice is kept in this browser.

const kThemes = [["system", "as the system"], ["light", "light"], ["dark", "dark"]];
const kThemeKey = "eave-page-colours";
const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
let themeChoice = keptTheme();

// A browser may keep nothing for files, or refuse to say.
function keptTheme() {
  try {
    const kept = localStorage.getItem(kThemeKey);
    return kThemes.some(([theme]) => theme === kept) ? kept : "system";
  } catch (error) {
    return "system";
  }
}

// The dark colours of page.css hold on a screen only, so print is light whatever is chosen.
function showTheme() {
  const isDark = themeChoice === "dark" || (themeChoice === "system" && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

function chooseTheme(theme) {
  themeChoice = theme;
  showTheme();
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch (error) {
    return;  // it holds until the page is closed
  }
}

// The choice at the head of the page. Charts need no new drawing, because they name colours by variables of the style.
function makeThemeChoice() {
  return selection("Colours", kThemes, themeChoice, chooseTheme);
}

systemIsDark.addEventListener("change", showTheme);
showTheme();
